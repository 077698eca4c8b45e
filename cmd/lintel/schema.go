package main

import (
	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/settings"
)

func newSchemaCommand() *cobra.Command {
	return newCommand("schema", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		schema, err := settings.Schema()
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(schema)
		return err
	})
}
