internal import Foundation
public import TapedeckModel

/// The channels and shows that a schedule includes.
public struct ScheduleScope: Hashable, Sendable {
    /// The ISO 3166 code of the country; nil for every country.
    public let country: String?
    /// Whether networks are included.
    public let networks: Bool
    /// Whether web channels are included.
    public let webChannels: Bool
    /// The text that the name of the show or channel must contain, ignoring case and accents; nil
    /// for any name.
    public let filter: String?

    /// The default country.
    public static let countryDefault = "US"

    /// Creates a scope from the options of `storectl query schedule`.
    ///
    /// Throws `ModelError` with `.usage` for an invalid country code and for a blank filter.
    ///
    /// - Parameters:
    ///   - country: A code such as `US`; nil for `countryDefault`, or for every country if `web` is
    ///     true.
    ///   - web: Whether to include only web channels.
    ///   - includeWeb: Whether to include the country's web channels in addition to its networks.
    ///   - filter: A part of the name of a show or channel.
    public init(
        country: String? = nil, web: Bool = false, includeWeb: Bool = false, filter: String? = nil
    ) throws(ModelError) {
        if let country {
            self.country = try ScheduleScope.checkedCountry(country)
        } else {
            self.country = web ? nil : ScheduleScope.countryDefault
        }
        networks = !web
        webChannels = web || includeWeb
        self.filter = filter.map(ScheduleScope.plain)
        if self.filter?.isEmpty ?? false {
            throw ModelError(.usage, "the filter is blank", hint: "use part of a name")
        }
    }

    /// Returns a country code in upper case, or nil if the string does not consist of two letters
    /// or digits.
    static func countryCode(_ text: String) -> String? {
        let isCode = text.utf8.count == 2 && text.utf8.allSatisfy(VideoKey.isLetterOrDigit)
        return isCode ? text.uppercased() : nil
    }

    /// Returns a country code in upper case.
    ///
    /// Throws `ModelError` with `.usage` if the code is invalid.
    package static func checkedCountry(_ text: String) throws(ModelError) -> String {
        guard let code = countryCode(text) else {
            throw ModelError(
                .usage, "\"\(text.prefix(20))\" is not a country code",
                hint: "use two letters, such as US")
        }
        return code
    }

    /// Returns the channel under which a show is listed, or nil if the show is not in the scope.
    ///
    /// A show on both a network and a web channel is listed under its network, if networks are
    /// included.
    func channel(of show: ShowObserved) -> TVmazeChannel? {
        var channel: TVmazeChannel?
        if webChannels, show.hasWebChannel, covers(show.webChannel) { channel = show.webChannel }
        if networks, show.hasNetwork, covers(show.network) { channel = show.network }
        guard let channel, let filter else { return channel }
        let names = [show.name, channel.name].map(ScheduleScope.plain)
        return names.contains { $0.contains(filter) } ? channel : nil
    }

    private func covers(_ channel: TVmazeChannel) -> Bool {
        country == nil || channel.countryCode == country
    }

    /// Normalizes text for filtering: folds case, accents and width, and trims whitespace.
    private static func plain(_ text: String) -> String {
        text.folding(
            options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
