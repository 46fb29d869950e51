"""The objects that decide about an allocation, from files, a cluster or recorded problems."""
