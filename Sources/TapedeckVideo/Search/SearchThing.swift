internal import TapedeckModel
internal import TapedeckProjections

/// A thing that a search can find, with its texts.
struct SearchThing {
    /// A piece of text that belongs to a thing.
    struct Text {
        let field: SearchField
        let text: String
        /// The folded text; empty if the text is only displayed.
        let folded: SearchText
        /// Whether the text is searched; otherwise, it is only displayed.
        let isSearched: Bool

        init(_ field: SearchField, _ text: String, isSearched: Bool = true) {
            (self.field, self.text, self.isSearched) = (field, text, isSearched)
            folded = SearchText(isSearched ? text : "")
        }
    }

    let kind: SearchHit.Kind
    let id: String
    /// The tag of the video or answer that a comment is about.
    var about: Tag?
    /// The time in Unix milliseconds; nil if unknown.
    var at: Int64?
    let place: SearchPlace
    let texts: [Text]
    /// The id of the broadcast, if the comment is the text of a broadcast.
    var broadcast: [UInt8]?
    /// The minimum weight of a match's rank; a match that occurs only in fields with smaller
    /// weights is ignored.
    var weightMin: UInt8 = 0
}

/// The position of a thing among things of its kind: by time, latest first, then by name.
///
/// The bytes consist of the time, descending (8 bytes); the name of the key, as in `RowKey.text`;
/// and, for an item, the letter of its list and its id. The ids of events and remote objects are
/// short enough (`FieldLimits`) for a place to fit into any row key.
struct SearchPlace: Equatable {
    let bytes: [UInt8]

    /// - Parameters:
    ///   - at: The time in Unix milliseconds; nil if unknown, which sorts after all known times.
    ///   - number: The number by which things without a time are sorted, highest first.
    init(at: Int64?, number: UInt64 = 0, _ name: Substring, item: [UInt8] = []) {
        let time = at ?? .min + Int64(min(number, 1 << 62))
        bytes = RowKey().descending(time).text(name).raw(item).bytes
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The name of the key; nil if the bytes are not a valid place.
    var name: String? {
        guard bytes.count > 8, let end = bytes[8...].firstIndex(where: { $0 <= 1 }) else {
            return nil
        }
        // Fast path: hardly any name contains an escaped byte.
        if bytes[end] == 0 { return String(decoding: bytes[8..<end], as: UTF8.self) }
        var name: [UInt8] = []
        var isEscaped = false
        for byte in bytes[8...] {
            if byte == 0 { return name.utf8Text }
            if byte == 1, !isEscaped {
                isEscaped = true
                continue
            }
            name.append(isEscaped ? byte - 1 : byte)
            isEscaped = false
        }
        return nil
    }

    /// The name of the item in a list sorted by time; nil if the thing is not an item.
    var itemName: RowKey? {
        guard let end = bytes.dropFirst(8).firstIndex(of: 0), let list = bytes[(end + 1)...].first
        else { return nil }
        // Rows are sorted latest first, items earliest first.
        let time = ~bytes[..<8].bigEndianWord ^ (1 << 63)
        return BroadcastItems.name(
            [list], BroadcastPlace(time: Int64(bitPattern: time), id: Array(bytes[(end + 2)...])))
    }
}

extension SearchIndex<SharedVideos> {
    /// Indexes comments on videos, and videos by their sharer, by the titles of all their
    /// broadcasts, and by the title in their description.
    static func videos(_ base: VideoList) -> SearchIndex {
        SearchIndex(SharedVideos(base), version: 3, [.video, .comment]) { state, key in
            let video = state.video
            guard state.isFound else { return [] }
            let title = video.shownTitle
            var others = state.otherTitles.map(\.text).filter { $0 != title }
            if let told = video.about.title, told != title, !others.contains(told) {
                others.append(told)
            }
            let texts: [SearchThing.Text] =
                .some(.title, title)
                + others.flatMap { [SearchThing.Text].some(.otherTitle, $0) }
                + .some(.sharer, video.sharer)
            guard !texts.isEmpty else { return [] }
            return [
                SearchThing(
                    kind: .video, id: String(key.name), at: video.newestAt,
                    place: SearchPlace(at: video.newestAt, key.name), texts: texts)
            ]
        } thingOfItem: {
            try SearchThing(saidIn: $0, of: $1)
        }
    }
}

extension SearchIndex<SubmissionList> {
    /// Indexes submitted videos by the titles and owners shown in lists.
    static func submissions(_ base: SubmissionList) -> SearchIndex {
        SearchIndex(base, [.submission]) { state, key in
            var (title, owner): (String?, String?)
            var at: Int64?
            if let shown = state.observations.merged {
                title = shown.hasTitle ? shown.title : nil
                owner = shown.hasOwner ? shown.owner : nil
                at = shown.hasCreatedAt ? shown.createdAt.milliseconds : nil
            } else if let own = state.own, let posted = try? VideoSubmitted(payload: own.payload) {
                (title, at) = (posted.hasTitle ? posted.title : nil, own.at)
            }
            let texts: [SearchThing.Text] = .some(.title, title) + .some(.owner, owner)
            guard !texts.isEmpty else { return [] }
            return [
                SearchThing(
                    kind: .submission, id: String(key.name), at: at,
                    place: SearchPlace(at: at, key.name), texts: texts)
            ]
        }
    }
}

extension SearchIndex<AnswerList> {
    /// Indexes comments on answers.
    static func answers(_ base: AnswerList) -> SearchIndex {
        SearchIndex(base, [.comment]) { _, _ in
            []
        } thingOfItem: {
            try SearchThing(saidIn: $0, of: $1)
        }
    }
}

extension SearchIndex<ShowCatalogue> {
    /// Indexes shows by name and network; the time of a show is its premiere.
    static func shows(_ base: ShowCatalogue) -> SearchIndex {
        SearchIndex(base, [.show]) { state, key in
            let show = state.show
            let day = show.hasPremiered ? CalendarDay(show.premiered) : nil
            let texts: [SearchThing.Text] =
                .some(.name, show.hasName ? show.name : nil)
                + .some(.network, show.channelName)
            guard !texts.isEmpty else { return [] }
            return [
                SearchThing(
                    kind: .show, id: String(key.name), at: day?.startMilliseconds,
                    place: SearchPlace(
                        at: day?.startMilliseconds, number: NaturalID.number(key.name), key.name),
                    texts: texts)
            ]
        }
    }
}

extension SearchIndex<UserList> {
    /// Indexes users by their names, and also the questions that no remote shows yet.
    static func users(_ base: UserList) -> SearchIndex {
        SearchIndex(base, [.user, .question]) { state, key in
            var things = state.asked.map { asked in
                SearchThing(
                    kind: .question, id: asked.event.description, at: asked.at,
                    place: SearchPlace(
                        at: asked.at, key.name, item: asked.event.textBytes),
                    texts: .some(.question, asked.text))
            }
            if let user = state.shownProfile(key)?.user {
                let full = [user.firstName, user.lastName].filter { !$0.isEmpty }
                things.append(
                    SearchThing(
                        kind: .user, id: String(key.name),
                        place: SearchPlace(
                            at: nil, number: NaturalID.number(key.name), key.name),
                        texts: .some(.name, user.hasUsername ? user.username : nil)
                            + .some(.name, full.isEmpty ? nil : full.joined(separator: " "))))
            }
            return things
        }
    }
}

extension SearchIndex<QuestionList> {
    /// Indexes questions by their text.
    static func questions(_ base: QuestionList) -> SearchIndex {
        SearchIndex(base, [.question]) { state, key in
            guard state.isListed else { return [] }
            return [
                SearchThing(
                    kind: .question, id: String(key.name),
                    place: SearchPlace(at: nil, number: NaturalID.number(key.name), key.name),
                    texts: .some(.question, state.question.text))
            ]
        }
    }
}

extension SearchThing {
    /// Reads a comment, or the text shared with a broadcast; returns nil for other items.
    fileprivate init?(saidIn item: Row, of key: Tag) throws(ModelError) {
        guard CommentItems.lists.contains(where: item.key.starts(with:)),
            let place = BroadcastItems.place(name: item.key)
        else { return nil }
        let list = item.key.prefix(1)
        var (author, comment, title): ([UInt8]?, [UInt8]?, [UInt8]?)
        var time: Int64? = place.time == 0 ? nil : place.time
        var id = place.id
        var broadcast: [UInt8]?
        switch list {
        case BroadcastItems.byTime[...]:
            let record = try BroadcastRecord(decoding: item.value)
            // The text is indexed as a separate comment.
            guard !record.isToldByMessage else { return nil }
            (author, comment, title) = (record.sharer, record.comment, record.title)
            if comment?.isEmpty ?? true { comment = nil }
            broadcast = place.id
        case BroadcastItems.posted[...]:
            let posted = try PostedComment(decoding: item.value)
            (author, comment, id) = (posted.author, posted.text, PostedComment.id(place.id))
        default:
            let seen = try ObservedComment(decoding: item.value)
            (author, comment, id) = (seen.author?.value, seen.text.value, seen.id)
            time = seen.at
        }
        guard comment != nil || author != nil else { return nil }
        self.init(
            kind: .comment, id: id.utf8Text, about: key, at: time,
            place: SearchPlace(at: place.time, key.name, item: Array(list + place.id)),
            texts: .some(.comment, comment) + .some(.author, author)
                + .some(.title, comment == nil ? title : nil, isSearched: false),
            broadcast: broadcast)
    }
}

extension [SearchThing.Text] {
    /// Returns the text, or an empty array for nil.
    fileprivate static func some(
        _ field: SearchField, _ text: [UInt8]?, isSearched: Bool = true
    ) -> [SearchThing.Text] {
        some(field, text?.utf8Text, isSearched: isSearched)
    }

    /// Returns the text, or an empty array for nil.
    fileprivate static func some(
        _ field: SearchField, _ text: String?, isSearched: Bool = true
    ) -> [SearchThing.Text] {
        text.map { [SearchThing.Text(field, $0, isSearched: isSearched)] } ?? []
    }
}
