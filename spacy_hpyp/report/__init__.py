"""The page of `hpyp report`."""
