module drakit/record/cel

go 1.26.0

require (
	k8s.io/api v0.37.1
	k8s.io/apiserver v0.37.1
	k8s.io/dynamic-resource-allocation v0.37.1
)
