import Glibc

/// A NULL-terminated array of C strings, freed when its owner lets go.
final class CStringArray {
    private let strings: [UnsafeMutablePointer<CChar>?]
    let pointer: UnsafeMutablePointer<UnsafePointer<CChar>?>

    init(_ texts: [String]) {
        strings = texts.map { strdup($0) }
        pointer = .allocate(capacity: texts.count + 1)
        for (index, string) in strings.enumerated() { pointer[index] = UnsafePointer(string) }
        pointer[texts.count] = nil
    }

    deinit {
        strings.forEach { free($0) }
        pointer.deallocate()
    }
}
