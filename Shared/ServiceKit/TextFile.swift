import Glibc

/// The content of a small file, or nil with the reason in `errno`. Bytes that are not UTF-8 are replaced.
package func readTextFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return nil }
        if count == 0 { return String(decoding: content, as: UTF8.self) }
        content += chunk[..<count]
    }
}
