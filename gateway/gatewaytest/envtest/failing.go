package envtest

// failing says why tests fail that the document lists.
var failing = []rule{}
