// Command upstream-e2e is Kubernetes' own end-to-end tests of DRA and of the API machinery, unchanged, as one program:
// those of k8s.io/kubernetes/test/e2e/dra and test/e2e/apimachinery in the suite of test/e2e, with the flags of e2e.test.
//
// With --node-directories it also stands in for what an embedded cluster has no containers for: the pods through which
// the tests reach the kubelets' sockets (pluginpods.go), and those that run webhooks (webhooks.go). Everything else is
// between the tests and the cluster.
package main

import (
	"flag"
	"log"
	"os"
	"testing"

	"k8s.io/kubernetes/test/e2e"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"

	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/dra"
	_ "k8s.io/kubernetes/test/e2e/feature"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/utils/ktesting/format"
)

func main() {
	testing.Init()
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	nodes := flag.String("node-directories", "", "Directory with one of each node's kubelet, by the node's name.")
	flag.Parse()
	if *nodes != "" {
		// The stand-in speaks SPDY only, as kubelets do.
		os.Setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false")
		proxied, err := standIn(framework.TestContext.KubeConfig, *nodes)
		if err != nil {
			log.Fatal("upstream-e2e: ", err)
		}
		framework.TestContext.KubeConfig = proxied
	}
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "TestE2E", F: e2e.RunE2ETests}}, nil, nil)
}
