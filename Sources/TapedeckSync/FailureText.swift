/// The message of a failure, in which the program's own words differ from foreign text.
///
/// Literals, integers and values with the label `own` are own words. All other text is foreign: it
/// may come from a remote and contain a secret, which `RemoteLogin.redacting` then replaces. In own
/// words nothing is replaced, because the gap would reveal a secret that is a common word.
package struct FailureText: ExpressibleByStringInterpolation, StringInterpolationProtocol,
    CustomStringConvertible, Hashable, Sendable
{
    package typealias StringInterpolation = FailureText

    private struct Part: Hashable, Sendable {
        var text: String
        let isOwn: Bool
    }

    /// The parts, none of which is empty; neighbours differ in `isOwn`.
    private var parts: [Part] = []

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package init(stringLiteral literal: String) { appendLiteral(literal) }

    package init(stringInterpolation text: FailureText) { self = text }

    package mutating func appendLiteral(_ literal: String) { append(literal, isOwn: true) }

    package mutating func appendInterpolation(_ number: some BinaryInteger) {
        append(String(number), isOwn: true)
    }

    /// Appends text that contains nothing from a remote, such as the name of a remote.
    package mutating func appendInterpolation(own text: some StringProtocol) {
        append(String(text), isOwn: true)
    }

    package mutating func appendInterpolation(_ foreign: some StringProtocol) {
        append(String(foreign), isOwn: false)
    }

    package mutating func appendInterpolation(_ text: FailureText) {
        for part in text.parts { append(part.text, isOwn: part.isOwn) }
    }

    private mutating func append(_ text: String, isOwn: Bool) {
        guard !text.isEmpty else { return }
        if parts.last?.isOwn == isOwn {
            parts[parts.count - 1].text += text
        } else {
            parts.append(Part(text: text, isOwn: isOwn))
        }
    }

    package static func + (first: FailureText, second: FailureText) -> FailureText {
        "\(first)\(second)"
    }

    package var description: String { replacingForeign { $0 } }

    /// Returns the text with each foreign part replaced.
    func replacingForeign(_ replacement: (String) -> String) -> String {
        parts.map { $0.isOwn ? $0.text : replacement($0.text) }.joined()
    }
}
