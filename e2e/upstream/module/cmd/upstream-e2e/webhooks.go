package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/test/images/agnhost/crd-conversion-webhook/converter"
	"k8s.io/kubernetes/test/images/agnhost/webhook"
)

const (
	// By this annotation of a Service, drakit's API server finds on this machine what no simulated pod runs.
	addressAnnotation = "drakit.dev/address"
	startTime         = 10 * time.Second
)

var newService = regexp.MustCompile(`^/api/v1/namespaces/([^/]+)/services$`)

// webhooks runs the programs of the image agnhost that API servers call: in this process, unchanged, with the
// certificate of the pod that would run them.
type webhooks struct {
	client  kubernetes.Interface
	mutex   sync.Mutex
	started map[string]string // addresses by the program's name
}

// place lets a new Service lead to a program of the pods that it selects, if they have one. The request goes on.
func (w *webhooks) place(request *http.Request, namespace string) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	service := &v1.Service{}
	if err := json.Unmarshal(body, service); err == nil && len(service.Spec.Selector) > 0 {
		if body, err = w.placed(request.Context(), namespace, service, body); err != nil {
			return err
		}
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	request.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func (w *webhooks) placed(ctx context.Context, namespace string, service *v1.Service, body []byte) ([]byte, error) {
	selected := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(service.Spec.Selector).String()}
	pods, err := w.client.CoreV1().Pods(namespace).List(ctx, selected)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods.Items {
		arguments := pod.Spec.Containers[0].Args
		if len(arguments) == 0 || programs[arguments[0]] == nil {
			continue
		}
		address, err := w.start(ctx, &pod, arguments)
		if err != nil {
			return nil, fmt.Errorf("upstream-e2e cannot run %s: %w", arguments[0], err)
		}
		metav1.SetMetaDataAnnotation(&service.ObjectMeta, addressAnnotation, address)
		return json.Marshal(service)
	}
	return body, nil
}

// start runs the program of a pod, once, and gives its address when it can be reached.
func (w *webhooks) start(ctx context.Context, pod *v1.Pod, arguments []string) (string, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if address := w.started[arguments[0]]; address != "" {
		return address, nil
	}
	certificate, key, err := w.certificate(ctx, pod)
	if err != nil {
		return "", err
	}
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	if err := programs[arguments[0]](address, certificate, key, arguments[1:]); err != nil {
		return "", err
	}
	w.started[arguments[0]] = address
	return address, reachable(ctx, address)
}

// certificate writes what the pod's secret holds to files, and gives their paths.
func (w *webhooks) certificate(ctx context.Context, pod *v1.Pod) (string, string, error) {
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		secret, err := w.client.CoreV1().Secrets(pod.Namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return "", "", err
		}
		directory, err := os.MkdirTemp("", "upstream-e2e-")
		if err != nil {
			return "", "", err
		}
		certificate, key := filepath.Join(directory, v1.TLSCertKey), filepath.Join(directory, v1.TLSPrivateKeyKey)
		return certificate, key, errors.Join(
			os.WriteFile(certificate, secret.Data[v1.TLSCertKey], 0o600), os.WriteFile(key, secret.Data[v1.TLSPrivateKeyKey], 0o600))
	}
	return "", "", errors.New("its pod mounts no secret")
}

// programs start those of agnhost by their names, at an address and with the paths of a certificate and its key.
var programs = map[string]func(address, certificate, key string, arguments []string) error{
	"webhook":                admissionWebhook,
	"crd-conversion-webhook": conversionWebhook,
}

func admissionWebhook(address, certificate, key string, arguments []string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	command := webhook.CmdWebhook
	for _, argument := range arguments {
		if name, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "="); command.Flags().Lookup(name) != nil {
			if err := command.Flags().Set(name, value); err != nil {
				return err
			}
		}
	}
	for name, value := range map[string]string{"port": port, "tls-cert-file": certificate, "tls-private-key-file": key} {
		if err := command.Flags().Set(name, value); err != nil {
			return err
		}
	}
	go command.Run(command, nil)
	return nil
}

// conversionWebhook does what the program does that looks for a cluster around it and then converts without one.
func conversionWebhook(address, certificate, key string, _ []string) error {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return err
	}
	handlers := http.NewServeMux()
	handlers.HandleFunc("/crdconvert", converter.ServeExampleConvert)
	go http.Serve(listener, handlers)
	return nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// reachable waits until something listens at an address.
func reachable(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		if ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
