package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
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
	// How the ID of a container begins that a simulated kubelet only pretends to run.
	simulated = "drakit://"
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
	if err != nil || pod.Spec.NodeName == "" {
		return false
	}
	query := request.URL.Query()
	switch {
	case strings.Contains(pod.Spec.Containers[0].Image, pluginImage):
		plugin := p.plugin(namespace+"/"+name, pod.Spec.NodeName)
		if what == "portforward" {
			portforward.ServePortForward(response, request, plugin, "", "", nil, streamIdle, streamCreation, portforward.SupportedProtocols)
		} else {
			serveExec(response, request, plugin)
		}
		return true
	case what == "exec" && isSimulated(pod) && isKnown(query["command"]):
		serveExec(response, request, &simulatedPod{client: p.client, pod: pod, node: filepath.Join(p.nodes, pod.Spec.NodeName)})
		return true
	}
	return false
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

func isSimulated(pod *v1.Pod) bool {
	return len(pod.Status.ContainerStatuses) > 0 && strings.HasPrefix(pod.Status.ContainerStatuses[0].ContainerID, simulated)
}

// isKnown says whether a simulated container can answer a command.
func isKnown(command []string) bool {
	return slices.Equal(command, []string{"env"}) || len(command) == 2 && command[0] == "cat"
}

// simulatedPod answers from the logs of simulated containers: they hold what each was given, its environment and then,
// as comments, its devices and mounts.
type simulatedPod struct {
	client kubernetes.Interface
	pod    *v1.Pod
	node   string // directory of its node's kubelet
}

var mounted = regexp.MustCompile(`^# mount (\S+) on (\S+)`)

// ExecInContainer prints a container's environment, or a file that is mounted into it.
func (p *simulatedPod) ExecInContainer(ctx context.Context, _, _, container string, command []string, _ io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	for _, status := range p.pod.Status.ContainerStatuses {
		if status.Name == container && status.State.Running == nil {
			return errors.New("container not running")
		}
	}
	log, err := p.client.CoreV1().Pods(p.pod.Namespace).GetLogs(p.pod.Name, &v1.PodLogOptions{Container: container}).DoRaw(ctx)
	if err != nil {
		return err
	}
	if command[0] == "cat" {
		return p.printFile(string(log), command[1], out)
	}
	for line := range strings.Lines(string(log)) {
		if !strings.HasPrefix(line, "#") {
			fmt.Fprint(out, line)
		}
	}
	fmt.Fprintln(out, "HOME=/") // a runtime adds it; the tests look for variables that are not the last
	return nil
}

func (p *simulatedPod) printFile(log, path string, out io.Writer) error {
	for line := range strings.Lines(log) {
		mount := mounted.FindStringSubmatch(line)
		if mount == nil {
			continue
		}
		below, ok := strings.CutPrefix(path, mount[2])
		if !ok || below != "" && below[0] != '/' {
			continue
		}
		content, err := os.ReadFile(onNode(p.node, mount[1]+below))
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	}
	return fmt.Errorf("cat: %s: nothing is mounted there", path)
}
