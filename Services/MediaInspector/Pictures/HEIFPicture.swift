import CHEIF

/// A HEIC or AVIF picture, by libheif. It applies the orientation that the file declares.
final class HEIFPicture {
    private let context: OpaquePointer
    private let handle: OpaquePointer

    init(_ bytes: UnsafeRawBufferPointer, bounds: Bounds) throws(Refusal) {
        guard let context = heif_context_alloc() else { throw .unreadable }
        // A picture from a phone is a grid of tiles, each of which would get a thread.
        heif_context_set_max_decoding_threads(context, 0)
        var handle: OpaquePointer?
        guard heif_context_read_from_memory_without_copy(context, bytes.baseAddress, bytes.count, nil).isSuccess,
            heif_context_get_primary_image_handle(context, &handle).isSuccess, let handle
        else {
            heif_context_free(context)
            throw .unreadable
        }
        self.context = context
        self.handle = handle
        try bounds.check(width: width, height: height, frames: 1)
    }

    deinit {
        heif_image_handle_release(handle)
        heif_context_free(context)
    }

    private var width: Int { Int(heif_image_handle_get_width(handle)) }
    private var height: Int { Int(heif_image_handle_get_height(handle)) }

    func decoded() throws(Refusal) -> Picture {
        let hasAlpha = heif_image_handle_has_alpha_channel(handle) != 0
        let chroma = hasAlpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB
        var image: OpaquePointer?
        guard heif_decode_image(handle, &image, heif_colorspace_RGB, chroma, nil).isSuccess, let image else {
            throw .unreadable
        }
        defer { heif_image_release(image) }
        let picture = try Self.picture(of: image, bands: hasAlpha ? 4 : 3)
        if let profile { picture.set(profile: profile) }
        return picture
    }

    private static func picture(of image: OpaquePointer, bands: Int) throws(Refusal) -> Picture {
        var stride: Int32 = 0
        guard let plane = heif_image_get_plane_readonly(image, heif_channel_interleaved, &stride) else {
            throw .unreadable
        }
        let width = Int(heif_image_get_width(image, heif_channel_interleaved))
        let height = Int(heif_image_get_height(image, heif_channel_interleaved))
        guard width > 0, height > 0, Int(stride) >= width * bands else { throw .unreadable }
        // libvips has no gaps between rows.
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * bands)
        for row in 0..<height {
            pixels.append(contentsOf: UnsafeBufferPointer(start: plane + row * Int(stride), count: width * bands))
        }
        return try Picture(copying: pixels, width: width, height: height, bands: bands)
    }

    private var profile: [UInt8]? {
        let length = heif_image_handle_get_raw_color_profile_size(handle)
        guard length > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: length)
        return heif_image_handle_get_raw_color_profile(handle, &bytes).isSuccess ? bytes : nil
    }
}

extension heif_error {
    fileprivate var isSuccess: Bool { code == heif_error_Ok }
}
