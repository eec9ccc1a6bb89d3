internal import TapedeckModel
internal import TapedeckVideo

extension ShowObserved {
    /// The show's version, for the episodes and casts in the same response.
    var version: Int64? { hasUpdated ? updated : nil }

    /// Reads a show; missing fields stay absent, and null fields are listed in `cleared`.
    init(tvmaze element: JSONElement) throws(IngestRefusal) {
        self.init()
        var cleared = ClearedFields()
        show = try element.id()
        // The valid times, in Unix seconds, end with the year 9999.
        if let value = try element.integer("updated", in: 0...253_402_300_799).value {
            updated = value
        }
        if let value = cleared.take("name", try element.text("name")) { name = value }
        if let value = cleared.take("network", try element.channel("network")) { network = value }
        if let value = cleared.take("webChannel", try element.channel("webChannel")) {
            webChannel = value
        }
        if let value = cleared.take("genres", try element.texts("genres").emptyAsNull) {
            genres = value
        }
        if let value = cleared.take("summary", try element.text("summary")) { summary = value }
        if let value = cleared.take("image", try element.image("image")) { image = value }
        if let value = cleared.take("runtimeMinutes", try element.small("runtime")) {
            runtimeMinutes = value
        }
        if let value = cleared.take("averageRuntimeMinutes", try element.small("averageRuntime")) {
            averageRuntimeMinutes = value
        }
        if let value = cleared.take("type", try element.text("type")) { type = value }
        if let value = cleared.take("language", try element.text("language")) { language = value }
        if let value = cleared.take("status", try element.text("status")) { status = value }
        if let value = cleared.take("premiered", try element.day("premiered")) { premiered = value }
        if let value = cleared.take("ended", try element.day("ended")) { ended = value }
        if let value = cleared.take("officialSite", try element.text("officialSite")) {
            officialSite = value
        }
        if let value = cleared.take("schedule", try element.airTimes("schedule")) {
            schedule = value
        }
        if let value = cleared.take("externals", try element.externals("externals")) {
            externals = value
        }
        self.cleared = cleared.sorted
    }
}

/// Collects the names of the fields that are null in a response.
struct ClearedFields {
    private var names: [String] = []

    /// Returns the value; if it is null, records `name`, the field's name in our schema.
    mutating func take<Value>(_ name: String, _ field: JSONField<Value>) -> Value? {
        if case .null = field { names.append(name) }
        return field.value
    }

    var sorted: [String] { names.sorted() }
}

extension JSONField<[String]> {
    /// The list, or null if it is empty, since protobuf does not distinguish an absent list from an
    /// empty one.
    var emptyAsNull: JSONField<[String]> {
        if case .value(let list) = self, list.isEmpty { return .null }
        return self
    }
}

extension JSONElement {
    /// Returns a small integer, such as a runtime in minutes, a season number or an episode number.
    func small(_ name: String) throws(IngestRefusal) -> JSONField<Int32> {
        switch try integer(name, in: 0...Int64(Int32.max / 64)) {
        case .absent: .absent
        case .null: .null
        case .value(let value): .value(Int32(value))
        }
    }

    /// Returns an image; an image without URLs counts as null.
    func image(_ name: String) throws(IngestRefusal) -> JSONField<TVmazeImage> {
        guard let element = try object(name).value else { return has(name) ? .null : .absent }
        var image = TVmazeImage()
        if let value = try element.url("medium").value { image.medium = value }
        if let value = try element.url("original").value { image.original = value }
        return image.hasMedium || image.hasOriginal ? .value(image) : .null
    }

    /// Returns a network or a web channel.
    func channel(_ name: String) throws(IngestRefusal) -> JSONField<TVmazeChannel> {
        guard let element = try object(name).value else { return has(name) ? .null : .absent }
        var channel = TVmazeChannel()
        channel.id = try element.id()
        if let value = try element.text("name").value { channel.name = value }
        if let country = try element.object("country").value {
            if let value = try country.text("name").value { channel.countryName = value }
            if let value = try country.text("code").value { channel.countryCode = value }
            if let value = try country.text("timezone").value { channel.timezone = value }
        }
        return .value(channel)
    }

    fileprivate func airTimes(_ name: String) throws(IngestRefusal) -> JSONField<TVmazeAirTimes> {
        guard let element = try object(name).value else { return has(name) ? .null : .absent }
        var times = TVmazeAirTimes()
        if let value = try element.text("time").value { times.time = value }
        if let value = try element.texts("days").value { times.days = value }
        return .value(times)
    }

    fileprivate func externals(
        _ name: String
    ) throws(IngestRefusal) -> JSONField<TVmazeExternals> {
        guard let element = try object(name).value else { return has(name) ? .null : .absent }
        var externals = TVmazeExternals()
        if let value = try element.integer("tvrage").value { externals.tvrage = value }
        if let value = try element.integer("thetvdb").value { externals.thetvdb = value }
        if let value = try element.text("imdb").value { externals.imdb = value }
        return .value(externals)
    }
}
