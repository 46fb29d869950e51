"""The commands drakit driver."""
