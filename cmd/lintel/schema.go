package main

import (
	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/settings"
)

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of " + settings.Path,
		Long: "Print the JSON Schema (draft 07) of " + settings.Path + ", for editors and other programs.\n\n" +
			"Editors with the YAML language server read it where the file begins with this line, which \"lintel init\" writes:\n\n" +
			"  # yaml-language-server: $schema=" + settings.SchemaURL,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := settings.Schema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}
