"""Facts of the TF dialect: what each op computes, its shapes, side effects and aliases."""
