internal import ArgumentParser
internal import Tapedeck

/// Completes the names of a store's remotes in a shell.
enum RemoteNames {
    static let completion = CompletionKind.custom { words, _, _ in
        // A completion cannot report an error, so without a store there are no names.
        (try? names(words)) ?? []
    }

    /// Returns the names of the remotes in the store that a command line names.
    ///
    /// - Parameter words: The words of the command line so far.
    static func names(_ words: [String]) throws -> [String] {
        var store = words.last { $0.hasPrefix("--store=") }.map { String($0.dropFirst(8)) }
        if let index = words.lastIndex(of: "--store"), words.indices.contains(index + 1) {
            store = words[index + 1]
        }
        let options = try StoreOptions.parse(store.map { ["--store", $0] } ?? [])
        return try options.withRemotes { try $0.all().map(\.name) }
    }
}
