package main

import (
	"crypto/rand"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

var podStream = regexp.MustCompile(`^/api/v1/namespaces/([^/]+)/pods/([^/]+)/(exec|portforward)$`)

// standIn serves the cluster of a kubeconfig on a port of the loopback interface: all requests go on to it, but for
// exec and port-forward of the pods that it stands in for, and Services of webhooks. It gives the path of the kubeconfig
// for that.
func standIn(kubeconfig, nodes string) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return "", err
	}
	config.NextProtos = []string{"http/1.1"} // connections are upgraded
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return "", err
	}
	listener, err := listenTLS(certificate, key)
	if err != nil {
		return "", err
	}
	token := rand.Text()
	proxy, err := forwarding(config, token)
	if err != nil {
		return "", err
	}
	pods := &pods{client: client, nodes: nodes, plugins: map[string]*pluginPod{}}
	hooks := &webhooks{client: client, started: map[string]string{}}
	go http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		isKnown := request.Header.Get("Authorization") == "Bearer "+token
		stream, service := podStream.FindStringSubmatch(request.URL.Path), newService.FindStringSubmatch(request.URL.Path)
		switch {
		case isKnown && stream != nil && pods.serve(response, request, stream[1], stream[2], stream[3]):
			return
		case isKnown && service != nil && request.Method == http.MethodPost:
			if err := hooks.place(request, service[1]); err != nil {
				http.Error(response, err.Error(), http.StatusBadGateway)
				return
			}
		}
		proxy.ServeHTTP(response, request)
	}))
	return writeKubeconfig("https://"+listener.Addr().String(), certificate, token)
}

// listenTLS takes a free port: clients send no bearer token without TLS, and upgrade no connection of HTTP/2.
func listenTLS(certificate, key []byte) (net.Listener, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}})
}

// forwarding passes requests with the token on as those of the kubeconfig's user, and all others as they are.
func forwarding(config *rest.Config, token string) (http.Handler, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	own, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	others, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Header.Get("Authorization") != "Bearer "+token {
				return others.RoundTrip(request)
			}
			request.Header.Del("Authorization")
			return own.RoundTrip(request)
		}),
		FlushInterval: -1, // watches
	}, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func writeKubeconfig(server string, authority []byte, token string) (string, error) {
	directory, err := os.MkdirTemp("", "upstream-e2e-")
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["proxied"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos["proxied"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["proxied"] = &clientcmdapi.Context{Cluster: "proxied", AuthInfo: "proxied"}
	config.CurrentContext = "proxied"
	path := filepath.Join(directory, "kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
