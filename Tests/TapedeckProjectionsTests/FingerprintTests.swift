import TapedeckModel
import TestSupport
import Testing

@testable import TapedeckProjections

/// Tables are found by a projection's fingerprint, so everything that determines its rows must
/// change the fingerprint.
@Suite(.offTasks) struct FingerprintTests {
    private struct Formed: Projection {
        var name = "formed"
        var version = 1
        var parameters = ""
        let tagKind = "reader"
        let eventTypes = [NoteAdded.eventType]
        typealias State = ReaderNotes.State
        func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {}
    }

    private struct Other: Projection {
        let name = "formed"
        let version = 1
        let tagKind = "book"
        let eventTypes = [NoteAdded.eventType]
        typealias State = ReaderNotes.State
        func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {}
    }

    @Test func formsOfAProjectionHaveDifferentFingerprints() {
        let forms = [
            Formed(), Formed(name: "renamed"), Formed(version: 2), Formed(parameters: "rule=2012"),
            Formed(version: 2, parameters: "rule=2012"),
        ]
        func fingerprints() -> [Digest16] {
            forms.map { ProjectionDriver.fingerprint(of: $0) }
                + [ProjectionDriver.fingerprint(of: Other())]
        }
        let first = fingerprints()
        #expect(Set(first).count == forms.count + 1)
        #expect(fingerprints() == first)
        #expect(Formed().driver.fingerprint == first[0])
    }
}

extension Projection {
    fileprivate var driver: ProjectionDriver { TypedDriver(self) }
}
