package envtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"revtail/cmd/revtail/command"
)

const apiServerHelp = `revtail in the place of a kube-apiserver, for tests with controller-runtime's envtest. It takes the flags that envtest and kubebuilder give,
and names those that mean nothing to it. Every client with a certificate of --client-ca-file, or the token of a service account, may do
everything, because revtail evaluates no RBAC objects. Objects whose owners are gone stay, as with envtest's own kube-apiserver, which has no
controllers. 'revtail serve --help' has the flags for everything else than tests.`

// passedOn are the flags of a kube-apiserver that mean the same to revtail serve.
var passedOn = []string{
	"api-audiences", "audit-log-path", "encryption-provider-config", "etcd-prefix", "max-mutating-requests-inflight", "max-requests-inflight",
	"oidc-ca-file", "oidc-client-id", "oidc-groups-claim", "oidc-groups-prefix", "oidc-issuer-url", "oidc-username-claim", "oidc-username-prefix",
	"service-account-issuer", "service-account-key-file", "service-account-max-token-expiration", "service-account-signing-key-file",
	"client-ca-file", "tls-cert-file", "tls-private-key-file", clusterIPRange, "service-node-port-range",
}

// renamed are the flags of a kube-apiserver for which revtail serve has another name.
var renamed = map[string]string{
	"etcd-servers": "etcd-endpoints", "etcd-cafile": "etcd-cacert", "etcd-certfile": "etcd-cert", "etcd-keyfile": "etcd-key",
}

// clusterIPRange is the flag for the network of the cluster IPs of Services. Its default is that of a kube-apiserver.
const (
	clusterIPRange        = "service-cluster-ip-range"
	defaultClusterIPRange = "10.0.0.0/24"
)

// namespaceLifecycle is the admission plugin that refuses objects in a namespace that does not exist.
const namespaceLifecycle = "NamespaceLifecycle"

// apiServer has the flags that revtail reads itself.
type apiServer struct {
	certDir, bindAddress string
	securePort           int
	disabledPlugins      []string
}

// NewAPIServerCommand returns the command of a program that is started under the name kube-apiserver. newRoot returns that of revtail, whose
// serve it runs.
func NewAPIServerCommand(newRoot func() *cobra.Command) *cobra.Command {
	var a apiServer
	cmd := &cobra.Command{
		Use: APIServer, Short: "Serve as a kube-apiserver for tests", Long: apiServerHelp,
		SilenceErrors: true, SilenceUsage: true, DisableFlagParsing: true, // RunE parses
	}
	flags := a.flags(serveFlags(newRoot()))
	cmd.RunE = command.AnyArgs(func(cmd *cobra.Command, args []string) error {
		kept, unknown := splitFlags(args, flags)
		if err := flags.Parse(kept); err != nil {
			return command.UsageError(fmt.Errorf("%w%s", err, command.HelpHint(cmd)))
		}
		if help, _ := flags.GetBool("help"); help {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nFlags:\n%s", cmd.Long, flags.FlagUsages())
			return err
		}
		if len(unknown) > 0 {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: revtail has no use for %s\n", APIServer, strings.Join(unknown, ", ")) // for the log of the test
		}
		serve, err := a.serveArgs(flags)
		if err != nil {
			return err
		}
		ignoreEnvironment()
		return runServe(cmd.Context(), newRoot(), serve, cmd.OutOrStdout(), cmd.ErrOrStderr())
	})
	return cmd
}

// serveFlags returns the flags of revtail serve.
func serveFlags(root *cobra.Command) *pflag.FlagSet {
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		panic("envtest: " + err.Error()) // revtail has this command
	}
	return serve.Flags()
}

// flags returns the flags of a kube-apiserver that mean something.
func (a *apiServer) flags(serve *pflag.FlagSet) *pflag.FlagSet {
	out := pflag.NewFlagSet(APIServer, pflag.ContinueOnError)
	out.BoolP("help", "h", false, "print this text")
	out.StringVar(&a.certDir, "cert-dir", "", "`directory` of apiserver.crt and apiserver.key, which are made if they are missing; other files if --tls-cert-file is given")
	out.StringVar(&a.bindAddress, "bind-address", "127.0.0.1", "`address` to listen at")
	out.IntVar(&a.securePort, "secure-port", 6443, "`port` for HTTPS")
	out.StringSliceVar(&a.disabledPlugins, "disable-admission-plugins", nil, "admission plugins to leave out: without "+namespaceLifecycle+" the first object of a namespace brings it; others mean nothing")
	for _, name := range passedOn {
		if flag := serve.Lookup(name); flag != nil {
			out.String(name, "", flag.Usage)
		}
	}
	for name, own := range renamed {
		out.String(name, "", serve.Lookup(own).Usage)
	}
	return out
}

// serveArgs returns the arguments of revtail with which it does what the flags want.
func (a *apiServer) serveArgs(flags *pflag.FlagSet) ([]string, error) {
	out := []string{"serve", "--listen", net.JoinHostPort(a.bindAddress, strconv.Itoa(a.securePort)),
		"--bootstrap", "--graceful-deletion", "--garbage-collector=false", "--drain-delay=0", "--drain-grace=1s"}
	if !slices.Contains(a.disabledPlugins, namespaceLifecycle) {
		out = append(out, "--require-namespaces")
	}
	if !flags.Changed(clusterIPRange) {
		out = append(out, "--"+clusterIPRange, defaultClusterIPRange)
	}
	flags.Visit(func(f *pflag.Flag) {
		if own, ok := renamed[f.Name]; ok {
			out = append(out, "--"+own, f.Value.String())
		} else if !slices.Contains([]string{"cert-dir", "bind-address", "secure-port", "disable-admission-plugins"}, f.Name) {
			out = append(out, "--"+f.Name, f.Value.String())
		}
	})
	if flags.Changed("tls-cert-file") {
		return out, nil
	}
	cert, key, err := certificateIn(a.certDir, a.bindAddress)
	if err != nil {
		return nil, err
	}
	policy, err := policyIn(a.certDir)
	if err != nil {
		return nil, err
	}
	out = append(out, "--policy-file", policy)
	if !flags.Changed("etcd-servers") {
		out = append(out, "--data-dir", dataDir(cert), "--embedded-client-url", "none", "--disposable-data")
	}
	return append(out, "--tls-cert-file", cert, "--tls-private-key-file", key), nil
}

// ignoreEnvironment removes the variables of revtail serve, because a kube-apiserver has flags only: those of another gateway mean nothing here.
func ignoreEnvironment() {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "REVTAIL_") {
			_ = os.Unsetenv(name) // fails for an empty name
		}
	}
}

func runServe(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) error {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}
