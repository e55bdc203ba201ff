package conformance

// notYet has the statements that revtail does not fulfil yet, as "group/promise", or "cast: group/promise" if it fulfils them for other
// kinds. A statement in it that is fulfilled fails.
var notYet = []string{}
