/// The limits on a payload and its fields.
///
/// Values over a limit are refused and never truncated.
public enum FieldLimits {
    /// The maximum length of the id of a broadcast, question, answer or viewing, in UTF-8 bytes.
    public static let idBytesMax = 128
    /// The maximum length of a title, comment, summary or other text, in UTF-8 bytes.
    public static let textBytesMax = 65_536
    /// The maximum length of a URL, in UTF-8 bytes.
    public static let urlBytesMax = 8_192
    /// The maximum length of an email address, in UTF-8 bytes.
    public static let emailBytesMax = 254
    /// The maximum length of a file extension, in UTF-8 bytes.
    public static let fileExtensionBytesMax = 16
    /// The maximum length of a reason, in UTF-8 bytes.
    public static let reasonBytesMax = 40
    /// The maximum number of entries in a list, such as a cast or a show's genres.
    public static let listCountMax = 2_000
    /// The maximum duration or position in seconds: a hundred years.
    public static let secondsMax = 3_155_760_000.0
    /// The maximum size of a payload as JSON, in bytes.
    public static let jsonBytesMax = 4_194_304
}
