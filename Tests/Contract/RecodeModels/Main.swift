import Foundation
import ModelsSupport

/// Decodes what the contract tests received into the types that clients are written with, and gives back what these
/// encode: nothing may be refused, and nothing lost.
///
/// Lines alternate on standard input: the name of a schema, and JSON without line breaks. Each pair is answered with a
/// line: the JSON that came back, or `refused:` and why, or `no type`.
@main
enum Main {
    static func main() {
        while let schema = readLine(), let json = readLine() {
            print(answer(schema, json))
            fflush(nil)
        }
    }

    private static func answer(_ schema: String, _ json: String) -> String {
        do {
            guard let recoded = try SchemaTypes.recode(Data(json.utf8), as: schema) else { return "no type" }
            return String(decoding: recoded, as: UTF8.self)
        } catch {
            return "refused: \(error)"
        }
    }
}
