package command

import "github.com/spf13/cobra"

// The groups of commands in the help of revtail, for cobra.Command.GroupID.
const (
	GroupServer  = "server"
	GroupRead    = "read"
	GroupWrite   = "write"
	GroupKeys    = "keys"
	GroupOperate = "operate"
	GroupOther   = "other"
)

// groups are the groups in the order of the help.
var groups = []cobra.Group{
	{ID: GroupServer, Title: "Server:"},
	{ID: GroupRead, Title: "Read objects:"},
	{ID: GroupWrite, Title: "Write objects:"},
	{ID: GroupKeys, Title: "Keys of etcd:"},
	{ID: GroupOperate, Title: "Operate:"},
	{ID: GroupOther, Title: "Other:"},
}

// AddCommands adds commands to the root, and the groups that they are in.
func AddCommands(root *cobra.Command, commands ...*cobra.Command) {
	used := map[string]bool{GroupOther: true}
	for _, c := range commands {
		used[c.GroupID] = true
	}
	for _, g := range groups {
		if used[g.ID] {
			root.AddGroup(&g)
		}
	}
	root.SetHelpCommandGroupID(GroupOther)
	root.SetCompletionCommandGroupID(GroupOther)
	root.AddCommand(commands...)
}
