/// How large the parts of a payload may be.
///
/// What exceeds a limit is refused with `.tooLarge`; nothing is ever cut.
public enum FieldLimits {
    /// The longest id of a broadcast, question, answer or viewing, in UTF-8 bytes.
    public static let idBytesMax = 128
    /// The longest title, comment, summary or other text, in UTF-8 bytes.
    public static let textBytesMax = 65_536
    /// The longest URL, in UTF-8 bytes.
    public static let urlBytesMax = 8_192
    /// The longest ending of a file's name, in UTF-8 bytes.
    public static let fileExtensionBytesMax = 16
    /// The longest reason, in UTF-8 bytes.
    public static let reasonBytesMax = 40
    /// The longest list in a payload: a cast, a show's genres.
    public static let listCountMax = 2_000
    /// The longest duration or position, in seconds: a hundred years.
    public static let secondsMax = 3_155_760_000.0
    /// The largest payload as JSON, in bytes.
    public static let jsonBytesMax = 4_194_304
}
