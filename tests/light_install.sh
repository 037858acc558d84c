#!/bin/sh
# Installs fuseconv into an environment without TensorFlow and Keras, as the README says, and converts there.
# Usage: tests/light_install.sh [PYTHON]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${1:-python3}" -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-deps "$root"
cd "$folder" && PATH="$folder/env/bin:$PATH"
pip install ai-edge-litert numpy flatbuffers protobuf click rich ml_dtypes h5py --quiet
for model in keras2_lstm keras3.keras keras2.h5 frozen.pb; do
    fuseconv convert "$root/testdata/$model" -o "$model.tflite" -q
done
fuseconv inspect keras2_lstm.tflite | grep UNIDIRECTIONAL_SEQUENCE_LSTM
status=0
fuseconv verify "$root/testdata/keras2_lstm" keras2_lstm.tflite || status=$?
test "$status" -eq 2
