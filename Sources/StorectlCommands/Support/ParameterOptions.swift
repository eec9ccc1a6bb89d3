internal import ArgumentParser
internal import Tapedeck

/// The parameters of projections; each choice has tables of its own.
struct ParameterOptions: ParsableArguments {
    @Option(help: "Which broadcast stands for a video that was shared more than once.")
    var winner = WinnerArgument.oldest

    @Option(
        help: "When watching takes a video off watch-later: at 75 %, or by the rule of 2012.")
    var rule = RuleArgument.default

    /// The projections with these parameters.
    var projections: VideoProjections {
        VideoProjections(winner: winner.rule, watchLaterRule: rule.rule)
    }

    /// The projections with every choice of parameters.
    static var allProjections: [VideoProjections] {
        WinnerArgument.allCases.flatMap { winner in
            RuleArgument.allCases.map { rule in
                VideoProjections(winner: winner.rule, watchLaterRule: rule.rule)
            }
        }
    }
}

/// `oldest` or `newest`.
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
