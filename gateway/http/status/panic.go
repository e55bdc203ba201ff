package status
