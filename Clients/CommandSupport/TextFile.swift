import Glibc
import ParleyClient

/// Writes reports.
package enum TextFile {
    package static func write(_ text: String, to path: String) throws(APIError) {
        guard let file = fopen(path, "w") else {
            throw APIError(request: "writing \(path)", status: 1, detail: String(cString: strerror(errno)))
        }
        fputs(text, file)
        fclose(file)
    }
}
