"""The commands drakit allocate, drakit explain and drakit scheduler."""
