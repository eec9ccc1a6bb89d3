internal import ArgumentParser

/// The command `storectl completions`.
struct CompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Print a shell completion script.",
        discussion: """
            EXAMPLE:
              storectl completions bash > /etc/bash_completion.d/storectl
              storectl completions fish > ~/.config/fish/completions/storectl.fish
            """)

    /// The supported shells.
    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: "The shell.")
    var shell: Shell

    func run() throws {
        let kind: CompletionShell =
            switch shell {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        try StandardOutput.line(StorectlCommand.completionScript(for: kind))
    }
}
