// Package abuse attacks the real program as a user who means harm, and measures what that costs the others. Each attack runs while a victim,
// another user, watches and writes; the table shows the victim's delays before and during the attack, and what the attacker got. `make abuse`
// runs it.
package abuse
