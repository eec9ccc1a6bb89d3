internal import ArgumentParser

/// The root command, `storectl`.
struct StorectlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storectl",
        abstract: "An event-sourced, offline-first store for video apps.",
        discussion: """
            Everything that happens is appended to a log. Lists are projections of the log and can be \
            rebuilt at any time.

            EXAMPLE:
              storectl init --demo
              storectl query videos

            Exit codes: 0 done, 1 internal error, 2 done, but some input was refused, 3 a check failed, \
            4 not found, 5 busy, full or read-only, 6 damaged, 7 remote or network error, 64 usage error.
            """,
        version: "storectl \(version)",
        subcommands: [
            InitCommand.self, IngestCommand.self, AppendCommand.self, DoCommand.self,
            BlobCommand.self,
            ImageCommand.self,
            LogCommand.self,
            ShowCommand.self, QueryCommand.self, WatchCommand.self, ReplayCommand.self,
            StatusCommand.self,
            VerifyCommand.self, DoctorCommand.self, ExportCommand.self, ImportCommand.self,
            CompactCommand.self,
            BackupCommand.self, RestoreCommand.self, EraseCommand.self, RemoteCommand.self,
            LoginCommand.self, LogoutCommand.self, SyncCommand.self, OutboxCommand.self,
            ExplainCommand.self,
            NetworkCommand.self, ServeCommand.self, TokenCommand.self,
            SimulateCommand.self, CompletionsCommand.self,
        ])

    /// The program's version.
    static let version = "0.1.0"
}
