/// The parameters of a request, held against what a table allows.
struct SimulatedParameters {
    private(set) var fields: [SimulatedField]
    private(set) var files: [SimulatedFile]

    struct Source: OptionSet {
        let rawValue: Int
        static let query = Source(rawValue: 1)
        static let form = Source(rawValue: 2)
        static let both: Source = [.query, .form]
    }

    /// Reads what the request carries.
    ///
    /// Throws where it carries anything that is not in `allowed`, anything twice that does not end in
    /// `[]`, or lacks what is `required`; and where there is a body, or a query, in the wrong place.
    init(
        _ request: SimulatedRequest, in source: Source, allowed: [String] = [],
        required: [String] = [], files fileNames: [String] = []
    ) throws(OutsideTables) {
        if !source.contains(.query), let item = request.query.first {
            throw OutsideTables("the query has \(item.name)")
        }
        fields = request.query
        files = []
        if source.contains(.form) {
            let form = try SimulatedForm(request)
            fields += form.fields
            files = form.files
        } else if !request.body.isEmpty {
            throw OutsideTables("there is a body")
        }
        for file in files where !fileNames.contains(file.name) {
            throw OutsideTables("there is a file \(file.name)")
        }
        var seen: Set<String> = []
        for field in fields {
            guard allowed.contains(field.name) || required.contains(field.name) else {
                throw OutsideTables("there is no parameter \(field.name)")
            }
            guard seen.insert(field.name).inserted || field.name.hasSuffix("[]") else {
                throw OutsideTables("\(field.name) comes twice")
            }
        }
        seen.formUnion(files.map(\.name))
        for name in required where !seen.contains(name) {
            throw OutsideTables("\(name) is missing")
        }
    }

    subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    func file(_ name: String) -> SimulatedFile? { files.first { $0.name == name } }
}
