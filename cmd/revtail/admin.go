package main

import "context"

// openAdmin opens the listener for operators, if there is to be one.
func (p *process) openAdmin(ctx context.Context) error {
	if p.cfg.AdminListen == "" {
		return nil
	}
	p.admin = newWebServer("--admin-listen", p.gateway.Admin(), nil, p.limit, p.logger)
	if err := p.admin.Listen(ctx, []string{p.cfg.AdminListen}); err != nil {
		p.web.closeListeners()
		return err
	}
	p.logger.Info("operators are served", "admin", p.admin.urls[0])
	return nil
}
