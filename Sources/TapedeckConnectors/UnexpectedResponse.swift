internal import TapedeckModel
internal import TapedeckSync

extension SyncFailure {
    /// The failure of a response that does not have the form of a system's API, such as the page of
    /// a proxy.
    ///
    /// - Parameters:
    ///   - system: The name of the system as in other messages, such as `Whale`.
    ///   - expected: The expected response, with its article.
    ///   - problem: The difference from the expected response; nil if it was not determined.
    static func unexpected(
        _ system: String, _ code: ErrorCode = .unavailable, expected: FailureText,
        _ problem: FailureText? = nil
    ) -> SyncFailure {
        let reason: FailureText = problem.map { ": \($0)" } ?? ""
        return SyncFailure(
            code, "the response from \(own: system) is not \(expected)\(reason)",
            hint: "try again later; if the error remains, check the address of the remote, which"
                + " storectl remote list shows")
    }
}
