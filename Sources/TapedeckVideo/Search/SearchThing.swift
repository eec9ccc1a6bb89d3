internal import TapedeckModel
internal import TapedeckProjections

/// Something that can be found, with its texts.
struct SearchThing {
    /// A text of a thing.
    struct Text {
        let field: SearchField
        let text: String
        /// Nothing where it is only shown.
        let folded: SearchText
        /// Whether it is looked through, or only shown.
        let isSearched: Bool

        init(_ field: SearchField, _ text: String, isSearched: Bool = true) {
            (self.field, self.text, self.isSearched) = (field, text, isSearched)
            folded = SearchText(isSearched ? text : "")
        }
    }

    let kind: SearchHit.Kind
    let id: String
    /// What a comment is about.
    var about: Tag?
    /// Unix milliseconds; nil where no time is known.
    var at: Int64?
    let place: SearchPlace
    let texts: [Text]
    /// The broadcast that something was said with.
    var broadcast: [UInt8]?
    /// It is not found by what is in weightier fields alone.
    var weightMin: UInt8 = 0
}

/// Where a thing stands among those of its kind: its time, the latest first, then its name.
///
/// Bytes: the time, descending (8); the key's name as `RowKey.text`; of what is an item the letter of its list
/// and its id. Names of events and remotes are short enough (`FieldLimits`) for any row's key.
struct SearchPlace: Equatable {
    let bytes: [UInt8]

    /// - Parameters:
    ///   - at: Unix milliseconds; nil where no time is known: then behind all others.
    ///   - number: of what has no time the greatest is first.
    init(at: Int64?, number: UInt64 = 0, _ name: Substring, item: [UInt8] = []) {
        let time = at ?? .min + Int64(min(number, 1 << 62))
        bytes = RowKey().descending(time).text(name).raw(item).bytes
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The name of the key; nil where these are no bytes of a place.
    var name: String? {
        guard bytes.count > 8, let end = bytes[8...].firstIndex(where: { $0 <= 1 }) else {
            return nil
        }
        // Nearly no name has a byte that is written as two.
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

    /// The name of the item of a list by time; nil where the thing is no item.
    var itemName: RowKey? {
        guard let end = bytes.dropFirst(8).firstIndex(of: 0), let list = bytes[(end + 1)...].first
        else { return nil }
        // Rows have the latest first, items the earliest.
        let time = ~bytes[..<8].bigEndianWord ^ (1 << 63)
        return BroadcastItems.name(
            [list], BroadcastPlace(time: Int64(bitPattern: time), id: Array(bytes[(end + 2)...])))
    }
}

extension SearchIndex<SharedVideos> {
    /// Videos by the titles of all who shared them and by their sharers, and what was said about them.
    static func videos(_ base: VideoList) -> SearchIndex {
        SearchIndex(SharedVideos(base), version: 2, [.video, .comment]) { state, key in
            let video = state.video
            guard video.broadcasts > 0 else { return [] }
            let others = state.otherTitles.filter { $0.text != video.title }
            return [
                SearchThing(
                    kind: .video, id: String(key.name), at: video.newestAt,
                    place: SearchPlace(at: video.newestAt, key.name),
                    texts: .some(.title, video.title)
                        + others.flatMap { [SearchThing.Text].some(.otherTitle, $0.text) }
                        + .some(.sharer, video.sharer))
            ]
        } thingOfItem: {
            try SearchThing(saidIn: $0, of: $1)
        }
    }
}

extension SearchIndex<SubmissionList> {
    /// Videos that users have handed in, by the titles and owners that the lists show.
    static func submissions(_ base: SubmissionList) -> SearchIndex {
        SearchIndex(base, [.submission]) { state, key in
            var (title, owner): (String?, String?)
            var at: Int64?
            if let shown = state.sightings.merged {
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
    /// What was said about answers.
    static func answers(_ base: AnswerList) -> SearchIndex {
        SearchIndex(base, [.comment]) { _, _ in
            []
        } thingOfItem: {
            try SearchThing(saidIn: $0, of: $1)
        }
    }
}

extension SearchIndex<ShowCatalogue> {
    /// Shows by their names and networks; their time is their first day.
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
    /// Users by their names, and the questions that no remote shows yet.
    static func users(_ base: UserList) -> SearchIndex {
        SearchIndex(base, [.user, .question]) { state, key in
            var things = state.asked.map { asked in
                SearchThing(
                    kind: .question, id: asked.event.description, at: asked.at,
                    place: SearchPlace(
                        at: asked.at, key.name, item: Array(asked.event.description.utf8)),
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
    /// Questions by what is asked.
    static func questions(_ base: QuestionList) -> SearchIndex {
        SearchIndex(base, [.question]) { state, key in
            guard !state.question.question.isEmpty else { return [] }
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
    /// What somebody said with a broadcast or in a comment; nil for items that tell of something else.
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
    /// A text that there may be.
    fileprivate static func some(
        _ field: SearchField, _ text: [UInt8]?, isSearched: Bool = true
    ) -> [SearchThing.Text] {
        some(field, text?.utf8Text, isSearched: isSearched)
    }

    /// A text that there may be.
    fileprivate static func some(
        _ field: SearchField, _ text: String?, isSearched: Bool = true
    ) -> [SearchThing.Text] {
        text.map { [SearchThing.Text(field, $0, isSearched: isSearched)] } ?? []
    }
}
