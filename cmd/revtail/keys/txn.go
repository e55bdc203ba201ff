package keys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/keys/keyapi"
)

func newTxnCommand() *cobra.Command {
	var s session
	cmd := &cobra.Command{
		Use:   "txn [FILE|-]",
		Short: "Compare keys, and do the one or the other, at one revision",
		Long: `Do a transaction: compare keys, and do the operations of then if all comparisons hold, else those of else.

The transaction is the JSON of POST /v1/txn, or the text of etcdctl txn, which has comparisons, operations and other operations, with
empty lines between the three parts. It comes from a file, or from the standard input.

Exit codes: 0 the comparisons hold, and the operations of then are done; 1 the comparisons do not hold, and those of else are done, or
the transaction failed; 2 wrong command line.`,
		Example: `  revtail keys txn move.json
  echo '{"compare":[{"key":"/app/lock","exists":false}],"then":[{"put":{"key":"/app/lock","value":"me","ttl":"30s"}}]}' | revtail keys txn

  revtail keys txn - <<'END'
  mod("/app/theme") = "7"
  value("/app/mode") != "locked"

  put /app/theme "blue"
  del /app/old

  get /app/theme
  END`,
	}
	s.addFlags(cmd, writeOutputs...)
	cmd.RunE = command.MaxArgs(1, func(cmd *cobra.Command, args []string) error {
		name, body, err := readTxn(cmd, args)
		if err != nil {
			return err
		}
		if err := s.connect(cmd, writeOutputs...); err != nil {
			return err
		}
		defer s.Close()
		if err := s.txn(cmd, body); client.HasCode(err, http.StatusBadRequest) {
			return fmt.Errorf("%s: %w", name, err)
		} else if err != nil {
			return err
		}
		return nil
	})
	return cmd
}

// readTxn reads a transaction as JSON. name is where it comes from, for errors.
func readTxn(cmd *cobra.Command, args []string) (name string, body []byte, err error) {
	name = "standard input"
	in := cmd.InOrStdin()
	if len(args) > 0 && args[0] != "-" {
		name = args[0]
		file, openErr := os.Open(name)
		if openErr != nil {
			return name, nil, command.UsageError(openErr)
		}
		defer func() { _ = file.Close() }()
		in = file
	} else if command.CanAsk(cmd) {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "revtail: reading a transaction from the terminal; Ctrl-D ends it, and revtail keys txn --help shows one") // only a hint
	}
	if body, err = io.ReadAll(in); err != nil {
		return name, nil, err
	}
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return name, nil, usageError(cmd, "%s: the transaction is empty", name)
	case body[0] == '{' && !json.Valid(body):
		return name, nil, usageError(cmd, "%s: this JSON is not complete, or not well-formed: want {\"compare\":[…],\"then\":[…],\"else\":[…]}", name)
	case body[0] == '{':
		return name, body, nil
	}
	parsed, err := keyapi.ParseText(string(body))
	if err != nil {
		return name, nil, usageError(cmd, "%s: %w", name, err)
	}
	body, err = json.Marshal(parsed)
	return name, body, err
}

// txn does a transaction, and prints its result. Comparisons that do not hold are an error.
func (s *session) txn(cmd *cobra.Command, body []byte) error {
	var answer json.RawMessage
	if err := s.Call(cmd.Context(), keyapi.NewTxnRequest(body), &answer); err != nil {
		return err
	}
	var result keyapi.TxnResult
	if err := json.Unmarshal(answer, &result); err != nil {
		return err
	}
	var err error
	if s.output == "json" {
		err = printJSON(cmd.OutOrStdout(), answer)
	} else {
		err = printResult(cmd.OutOrStdout(), result)
	}
	if err == nil && !result.Succeeded {
		err = errors.New("the comparisons do not hold: the operations of else are done")
	}
	return err
}

func printResult(w io.Writer, result keyapi.TxnResult) error {
	var out bytes.Buffer
	word := "SUCCESS"
	if !result.Succeeded {
		word = "FAILURE"
	}
	fmt.Fprintf(&out, "%s, revision %d\n", word, result.Revision)
	for _, r := range result.Results {
		switch {
		case r.Put != nil:
			fmt.Fprintf(&out, "put %s\n", command.Printable(r.Put.String()))
		case r.Deleted != nil:
			fmt.Fprintf(&out, "deleted %d\n", *r.Deleted)
		case r.Get == nil:
			out.WriteString("get: no such key\n")
		default:
			content, err := r.Get.Bytes()
			if err != nil {
				return err
			}
			text := string(bytes.TrimSuffix(content, []byte("\n")))
			if isBinary(content) {
				text = command.Printable(text)
			}
			fmt.Fprintf(&out, "get %s, revision %d\n%s\n", command.Printable(r.Get.String()), r.Get.ModRevision, text)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}
