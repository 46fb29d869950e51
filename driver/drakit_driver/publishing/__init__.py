"""From pools to ResourceSlices at the API server, kept as the driver wants them."""
