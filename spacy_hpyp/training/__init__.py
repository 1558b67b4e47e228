"""Training on treebanks and raw text: sweeps, calibration, leave-out annotation."""
