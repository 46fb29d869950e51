package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

const (
	streamIdle     = 4 * time.Hour // as a kubelet
	streamCreation = 30 * time.Second
	// The image of the pods through which the tests' drivers reach a node.
	pluginImage = "/hostpathplugin:"
)

// pods finds out which streams are for this program.
type pods struct {
	client  kubernetes.Interface
	nodes   string // directory of the directories of all nodes' kubelets
	mutex   sync.Mutex
	plugins map[string]*pluginPod // by namespace and name
}

// serve answers a request for exec or port-forward, or says that it is for the cluster.
func (p *pods) serve(response http.ResponseWriter, request *http.Request, namespace, name, what string) bool {
	pod, err := p.client.CoreV1().Pods(namespace).Get(request.Context(), name, metav1.GetOptions{})
	if err != nil || pod.Spec.NodeName == "" || !strings.Contains(pod.Spec.Containers[0].Image, pluginImage) {
		return false
	}
	plugin := p.plugin(namespace+"/"+name, pod.Spec.NodeName)
	if what == "portforward" {
		portforward.ServePortForward(response, request, plugin, "", "", nil, streamIdle, streamCreation, portforward.SupportedProtocols)
	} else {
		serveExec(response, request, plugin)
	}
	return true
}

func (p *pods) plugin(key, node string) *pluginPod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.plugins[key] == nil {
		p.plugins[key] = newPluginPod(filepath.Join(p.nodes, node))
	}
	return p.plugins[key]
}

func serveExec(response http.ResponseWriter, request *http.Request, executor remotecommand.Executor) {
	query := request.URL.Query()
	asked := func(stream string) bool { return query.Get(stream) == "true" }
	options := &remotecommand.Options{Stdin: asked("stdin"), Stdout: asked("stdout"), Stderr: asked("stderr")}
	remotecommand.ServeExec(response, request, executor, "", "", query.Get("container"), query["command"], options,
		streamIdle, streamCreation, remotecommand.SupportedStreamingProtocols)
}
