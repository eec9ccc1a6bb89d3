internal import Logging

/// Writes a server's log to stderr with control characters escaped.
struct VisibleLog: LogHandler {
    private var below: StreamLogHandler

    init(label: String) { below = .standardError(label: label) }

    var logLevel: Logger.Level {
        get { below.logLevel }
        set { below.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { below.metadata }
        set { below.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { below[metadataKey: key] }
        set { below[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(VisibleText.line(event.message.description))"
        event.metadata = event.metadata?.mapValues { "\(VisibleText.line($0.description))" }
        below.log(event: event)
    }
}
