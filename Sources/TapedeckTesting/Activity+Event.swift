public import Tapedeck

extension Activity {
    /// Returns the same event that `appendLine(to:)` writes as a line.
    ///
    /// Throws an error if the event is invalid, which never happens for activity from the
    /// generator.
    public func event() throws -> ProposedEvent {
        switch kind {
        case .broadcastReceived: try proposal(broadcast())
        case .playbackProgressed: try proposal(playback())
        case .commentPosted: try proposal(comment())
        case .watchLaterToggled:
            try proposal(
                WatchLaterToggled.with {
                    $0.video = video
                    $0.isOn = count == 1
                })
        case .videoExtracted: try proposal(extraction())
        case .answerUploaded: try proposal(answer())
        }
    }

    private func proposal(_ event: some Event) throws -> ProposedEvent {
        try ProposedEvent(event, atMilliseconds: atMilliseconds)
    }

    private func text(_ append: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        append(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The video's key.
    var video: String { text(appendVideo) }
    /// The video's title.
    var title: String { text(appendTitle) }
    /// The name of a person.
    var person: String { text(appendPerson) }
    /// The text of a comment.
    var saying: String { text(appendSaying) }

    private func name(_ letter: Character) -> String { "\(letter)\(number)" }

    private func broadcast() -> BroadcastReceived {
        .with {
            $0.broadcast = name("b")
            $0.video = video
            $0.title = title
            $0.sharer = person
            if hasNetwork { $0.origin = text(appendNetwork) }
            if hasComment { $0.comment = saying }
            $0.createdAt.seconds = Int64(seconds)
            if count > 0 {
                $0.updatedAt.seconds = Int64(updatedSeconds)
                $0.watchLater = isMarked
            }
        }
    }

    private func playback() -> PlaybackProgressed {
        .with {
            $0.video = video
            $0.viewing = name("v")
            $0.positionSeconds = Double(seconds)
            $0.durationSeconds = Double(durationSeconds)
        }
    }

    private func comment() -> CommentPosted {
        .with {
            if isAboutAnswer {
                $0.answer = "a\(subject)"
            } else {
                $0.video = video
            }
            $0.text = saying
            $0.author = person
        }
    }

    private func extraction() -> VideoExtracted {
        .with {
            $0.video = video
            $0.url = text(appendAddress)
            $0.extractedAt.seconds = Int64(atMilliseconds / 1_000)
            $0.expiresAt.seconds = Int64(expiresSeconds)
        }
    }

    private func answer() -> AnswerUploaded {
        .with {
            $0.question = "q\(subject)"
            $0.answer = name("a")
            $0.durationSeconds = Double(seconds)
            if count > 0 { $0.videoURL = text(appendAnswerAddress) }
        }
    }
}
