package import Foundation
internal import TapedeckLMDB
internal import TapedeckModel

/// A file that is written next to its target and replaces it completely or not at all; see
/// `DraftFile`.
package struct ReplacedFile {
    package let target: String
    private let draft: DraftFile

    /// Starts a file; `target` is not touched before `place()`.
    ///
    /// Throws `LogError` with `.usage` if `target` is a directory, or a device such as `/dev/null`,
    /// which a file must not replace.
    package init(replacing target: String) throws(LogError) {
        var facts = stat()
        if stat(target, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG {
            if facts.st_mode & S_IFMT == S_IFDIR { throw LogError.system(EISDIR, target) }
            throw LogError.isNoFile(target)
        }
        draft = try ReplacedFile.wrapping(target) { () throws(DraftFile.Failure) in
            try DraftFile(of: target)
        }
        self.target = target
    }

    /// The path of the file before it is moved into place.
    package var path: String { draft.path }
    /// The open file.
    var file: Int32 { draft.file }

    package func write(_ bytes: some ContiguousBytes) throws(LogError) {
        try ReplacedFile.wrapping(target) { () throws(DraftFile.Failure) in
            try draft.write(bytes)
        }
    }

    /// Syncs the file to disk and moves it into place.
    ///
    /// - Parameter path: The path to move the file to; nil for `target`.
    package func place(at path: String? = nil) throws(LogError) {
        let path = path ?? target
        try ReplacedFile.wrapping(path) { () throws(DraftFile.Failure) in
            try draft.place(at: path)
        }
        try DurableFile.synchronize(PathParts.folder(of: path))
    }

    /// Returns the name of the target of an unfinished file; nil if `name` is not the name of an
    /// unfinished file.
    package static func targetName(ofUnfinished name: String) -> String? {
        DraftFile.targetName(ofDraft: name)
    }

    /// Returns whether a file is an unfinished file whose writer was killed.
    package static func isAbandoned(_ path: String) -> Bool { DraftFile.isAbandoned(path) }

    /// Removes the files left by writers of `target` that were killed.
    package static func removeAbandoned(replacing target: String) {
        DraftFile.removeAbandoned(of: target)
    }

    private static func wrapping<R>(
        _ path: String, _ body: () throws(DraftFile.Failure) -> R
    ) throws(LogError) -> R {
        do throws(DraftFile.Failure) {
            return try body()
        } catch {
            throw LogError.creating(path, error.number)
        }
    }
}
