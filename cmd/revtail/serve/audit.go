package serve

import (
	"io"

	"revtail/cmd/revtail/serve/logging"
	"revtail/gateway/access/audit"
)

// openAudit opens the audit log, if it is configured. closeAudit writes its last records.
func (p *process) openAudit(stdout io.Writer) (err error) {
	if p.cfg.AuditLogPath != "" && audit.Level(p.cfg.AuditLevel) != audit.None {
		p.audit, err = logging.OpenAuditFile(p.cfg.AuditLogPath, stdout, p.logger)
	}
	return err
}

func (p *process) closeAudit() {
	if p.audit != nil {
		p.audit.Close()
	}
}

// auditLog is nil without an audit log.
func (p *process) auditLog() *audit.Log {
	if p.audit == nil {
		return nil
	}
	return audit.New(audit.Level(p.cfg.AuditLevel), p.audit)
}
