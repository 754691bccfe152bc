import Foundation

/// `openapi.json`, and values that have the form of its schemas.
///
/// @unchecked: JSON that is read once and never changed.
struct Document: @unchecked Sendable {
    typealias Schema = [String: Any]

    /// How much of what a schema allows a value has.
    enum Extent { case onlyRequired, everything }

    let root: Schema
    let schemas: [String: Schema]

    static let file = Document()

    private init() {
        let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let data = try! Data(contentsOf: repository.appending(path: "Services/Ingest/openapi.json"))
        root = try! JSONSerialization.jsonObject(with: data) as! Schema
        schemas = (root["components"] as! Schema)["schemas"] as! [String: Schema]
    }

    /// The schema's own members and those of what it is composed of.
    func required(_ schema: Schema) -> Set<String> {
        parts(of: schema).reduce(into: []) { $0.formUnion($1["required"] as? [String] ?? []) }
    }

    func properties(_ schema: Schema) -> [String: Schema] {
        parts(of: schema).reduce(into: [:]) { properties, part in
            properties.merge(part["properties"] as? [String: Schema] ?? [:]) { _, own in own }
        }
    }

    /// What the schema is composed of first, so that its own properties win.
    private func parts(of schema: Schema) -> [Schema] {
        (schema["allOf"] as? [Schema] ?? []).flatMap { part in
            part["$ref"] == nil ? [part] : parts(of: schemas[name(of: part)]!)
        } + [schema]
    }

    private func name(of reference: Schema) -> String {
        String((reference["$ref"] as! String).split(separator: "/").last!)
    }

    // MARK: Values

    /// Strings of a form that no pattern has to be read for.
    private static let samples: [String: String] = [
        "UserID": "anna", "UUID": "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90",
        "ChosenID": "0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01", "Time": "2026-03-07T17:04:11.302Z", "Cursor": "b3Blbg",
        "SHA256": String(repeating: "0a", count: 32), "TapbackKind": "🧗", "Title": "Sunday", "NewText": "Nine?",
    ]

    func value(of name: String, _ extent: Extent) -> Any {
        Self.samples[name] ?? value(schemas[name]!, extent)
    }

    private func value(_ schema: Schema, _ extent: Extent) -> Any {
        if schema["$ref"] != nil { return value(of: name(of: schema), extent) }
        if let constant = schema["const"] { return constant }
        if let first = (schema["enum"] as? [Any])?.first { return first }
        if let choices = schema["anyOf"] as? [Schema], schema["properties"] == nil {
            return value(choices.first { $0["type"] as? String != "null" }!, extent)
        }
        switch type(of: schema) {
        case "integer": return max(schema["minimum"] as? Int ?? 0, 3)
        case "number": return 2.5
        case "boolean": return true
        case "string": return schema["format"] as? String == "date-time" ? Self.samples["Time"]! : "text"
        case "array":
            let count = extent == .everything ? 2 : schema["minItems"] as? Int ?? 0
            return (0..<count).map { _ in value(schema["items"] as! Schema, extent) }
        case "object": return object(schema, extent)
        case let other: preconditionFailure("no value for the type \(other ?? "none")")
        }
    }

    private func type(of schema: Schema) -> String? {
        schema["type"] as? String ?? (schema["type"] as? [String])?.first { $0 != "null" }
    }

    private func object(_ schema: Schema, _ extent: Extent) -> Schema {
        let required = required(schema)
        var object = properties(schema).filter { extent == .everything || required.contains($0.key) }
            .filter { $0.value["type"] as? String != "null" }
            .mapValues { value($0, extent) }
        if let values = schema["additionalProperties"] as? Schema, extent == .everything {
            let key = (schema["propertyNames"] as? Schema).map { value($0, extent) as! String } ?? "name"
            object[key] = value(values, extent)
        }
        return object
    }
}

/// The same text for the same JSON, in whatever order its keys are.
func canonical(_ value: Any) -> String {
    let data = try! JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed])
    return String(decoding: data, as: UTF8.self)
}

func canonical(_ json: Data) -> String {
    canonical(try! JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed))
}
