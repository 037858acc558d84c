#!/bin/sh
# Installs fuseconv into an environment without TensorFlow and Keras, as the README says, and converts there.
# Usage: tests/light_install.sh [PYTHON]
set -eu
export PIP_DISABLE_PIP_VERSION_CHECK=1
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${1:-python3}" -m venv "$folder/env"
cd "$folder" && PATH="$folder/env/bin:$PATH"
pip install ai-edge-litert "numpy>=2" flatbuffers protobuf click rich ml_dtypes h5py --quiet
pip install --quiet --no-deps "$root"
for model in keras2_lstm keras3.keras keras2.h5 frozen.pb; do
    fuseconv convert "$root/testdata/$model" -o "$model.tflite" -q
done
fuseconv inspect keras2_lstm.tflite | grep -q UNIDIRECTIONAL_SEQUENCE_LSTM
size=$(du -sm "$folder/env" | cut -f1)
test "$size" -le 250 || { echo "the environment takes $size MB, where the README says 200"; exit 1; }
# Without TensorFlow what needs it says so, and what to install.
status=0
said=$(fuseconv verify "$root/testdata/keras2_lstm" keras2_lstm.tflite 2>&1) || status=$?
test "$status" -eq 2
case $said in
    *"pip install tensorflow tf-keras"*) echo "The light install converts, and takes $size MB." ;;
    *) echo "verify says: $said"; exit 1 ;;
esac
