"""drakit kubernetes: build, download and find the real binaries of a Kubernetes version."""
