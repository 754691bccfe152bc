import Bus
import Bytes
import Wire

extension RequestOutcome {
    /// Reads a page of a stream: its last position, then entries to the end. Nil when the request failed.
    func page<Entry>(_ entry: (inout ByteReader) throws(WireError) -> Entry) -> Page<Entry>? {
        guard case .response(let response) = self, response.status == 200 else { return nil }
        var reader = ByteReader(response.payload.bytes)
        do throws(WireError) {
            var page = Page<Entry>()
            page.last = try reader.position()
            while !reader.isAtEnd { page.entries.append(try entry(&reader)) }
            return page
        } catch {
            return nil
        }
    }
}
