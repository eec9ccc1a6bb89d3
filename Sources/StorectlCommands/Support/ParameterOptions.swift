internal import ArgumentParser
internal import Tapedeck

/// The parameters of projections; each combination of parameters has its own tables.
struct ParameterOptions: ParsableArguments {
    @Option(
        help: "The broadcast that supplies the title and sharer of a video with several shares.")
    var winner = WinnerArgument.oldest

    @Option(
        help: """
            When a video leaves watch-later: once a viewing reaches 75 % of the duration, or by \
            the 2012 app's rule.
            """)
    var rule = RuleArgument.default

    /// Whether all parameters have their default values.
    var areDefault: Bool { winner == .oldest && rule == .default }

    /// The projections with these parameters.
    var projections: VideoProjections {
        VideoProjections(winner: winner.rule, watchLaterRule: rule.rule)
    }

    /// The projections with each possible combination of parameters.
    static var allProjections: [VideoProjections] {
        WinnerArgument.allCases.flatMap { winner in
            RuleArgument.allCases.map { rule in
                VideoProjections(winner: winner.rule, watchLaterRule: rule.rule)
            }
        }
    }
}

/// The winner rule in command-line arguments, `oldest` or `newest`.
enum WinnerArgument: String, ExpressibleByArgument, CaseIterable {
    case oldest, newest

    var rule: WinnerRule { self == .oldest ? .oldest : .newest }
}

/// `default` or `2012`.
enum RuleArgument: String, ExpressibleByArgument, CaseIterable {
    case `default`
    case of2012 = "2012"

    var rule: WatchLaterRule { self == .default ? .crossing : .rule2012 }
}
