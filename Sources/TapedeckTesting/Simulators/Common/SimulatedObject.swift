internal import Foundation

/// A JSON object from a request body, validated against the members that a route allows.
struct SimulatedObject {
    private let members: [String: Any]

    /// Reads the body.
    ///
    /// Throws if the request has a query, if the body is not a JSON object, if the object has a
    /// member that is neither in `allowed` nor in `required`, or if a required member is missing.
    init(
        _ request: SimulatedRequest, required: [String], allowed: [String] = []
    ) throws(OutsideTables) {
        if let item = request.query.first {
            throw OutsideTables("unexpected query item \(item.name)")
        }
        let type = (request.header("Content-Type") ?? "").prefix { $0 != ";" }.lowercased()
        guard type == "application/json",
            let object = try? JSONSerialization.jsonObject(with: Data(request.body)),
            let members = object as? [String: Any]
        else { throw OutsideTables("the body is not a JSON object") }
        self.init(members)
        for name in members.keys.sorted() where !(required + allowed).contains(name) {
            throw OutsideTables("unknown member \(name)")
        }
        for name in required where members[name] == nil {
            throw OutsideTables("\(name) is missing")
        }
    }

    private init(_ members: [String: Any]) { self.members = members }

    func has(_ name: String) -> Bool { members[name] != nil }

    /// Returns a member that must be a string.
    func text(_ name: String) throws(OutsideTables) -> String {
        guard let text = members[name] as? String else {
            throw OutsideTables("\(name) is not text")
        }
        return text
    }

    /// Returns a member that must be an integer.
    func number(_ name: String) throws(OutsideTables) -> Int64 {
        guard let number = members[name] as? NSNumber,
            Double(number.int64Value) == number.doubleValue
        else { throw OutsideTables("\(name) is not an integer") }
        return number.int64Value
    }

    /// Returns a member that must be an object.
    func object(_ name: String) throws(OutsideTables) -> SimulatedObject {
        guard let object = members[name] as? [String: Any] else {
            throw OutsideTables("\(name) is not an object")
        }
        return SimulatedObject(object)
    }
}
